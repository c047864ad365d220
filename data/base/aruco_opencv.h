#pragma once
// Square coded markers of OpenCV, under one interface for the versions that Debian and Ubuntu ship:
// up to 4.6 they are the module `aruco` of its contributed modules, from 4.7 they belong to
// `objdetect`. Shared by calibration and tracking, which do not see each other; not installed, and
// a caller links the module that the top CMakeLists.txt names in IMPACTLAB_ARUCO.

#include <opencv2/core.hpp>
#include <opencv2/core/version.hpp>
#include <vector>

#if CV_VERSION_MAJOR > 4 || (CV_VERSION_MAJOR == 4 && CV_VERSION_MINOR >= 7)
#define IMPACTLAB_ARUCO_IN_OBJDETECT 1
#include <opencv2/objdetect/aruco_detector.hpp>
#else
#define IMPACTLAB_ARUCO_IN_OBJDETECT 0
#include <opencv2/aruco.hpp>
#endif

namespace impactlab {

// The dictionary of a value of OpenCV's enum, such as cv::aruco::DICT_4X4_50.
inline cv::aruco::Dictionary ArucoDictionary(int dictionary) {
#if IMPACTLAB_ARUCO_IN_OBJDETECT
  return cv::aruco::getPredefinedDictionary(dictionary);
#else
  return *cv::aruco::getPredefinedDictionary(dictionary);
#endif
}

// Finds the markers of a dictionary in a grey picture: of each its number, and its four corners in
// the order in which the dictionary reads, clockwise from the upper left [px]. In which order the
// markers come differs between versions of OpenCV.
inline void DetectAruco(const cv::Mat& image, int dictionary,
                        const cv::aruco::DetectorParameters& parameters,
                        std::vector<std::vector<cv::Point2f>>* corners, std::vector<int>* ids) {
#if IMPACTLAB_ARUCO_IN_OBJDETECT
  cv::aruco::ArucoDetector(ArucoDictionary(dictionary), parameters)
      .detectMarkers(image, *corners, *ids);
#else
  cv::aruco::detectMarkers(image, cv::aruco::getPredefinedDictionary(dictionary), *corners, *ids,
                           cv::makePtr<cv::aruco::DetectorParameters>(parameters));
#endif
}

}  // namespace impactlab
